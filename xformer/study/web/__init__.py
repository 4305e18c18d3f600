"""The report as one page that asks nothing outside itself."""
