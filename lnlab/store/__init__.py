"""The store: rows to Parquet and back. A result is complete and checksum-verified, or invisible.

``unit`` writes under a lease (``leases``), ``packing`` joins what is finished, and ``join`` reads it for a plan
(``plans``). ``remote`` and ``segments`` are another place for units. ``files`` alone changes the file system.
"""
