"""What a store holds by experiment, what of it is still wanted, and how finished units leave and enter it."""
