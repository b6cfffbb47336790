"""Reports: standings, tables, plots and pages."""
