"""From YAML files and words of a command line to one checked, typed configuration; without torch."""
