"""One run and its folder: who it is, who starts, watches and stops it, and the commands that use it."""
