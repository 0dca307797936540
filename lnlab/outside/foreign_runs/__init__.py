"""Results that lnlab did not compute: folders of recorded runs, and tables from elsewhere, as ``tables.Results``."""
