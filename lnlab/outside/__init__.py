"""What lnlab did not compile: modules that it measures, training loops that it records, and runs that others wrote."""
