"""The vocabulary of what is measured: the words of each quantity, which its probe is registered with."""
