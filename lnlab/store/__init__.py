"""The store: rows to Parquet and back. A result is complete and checksum-verified, or invisible.

``unit`` writes under a lease (``leases``), ``packing`` joins what is finished, and ``join`` reads it for a plan
(``plans``). ``remote`` is another place, and ``remote_packs`` what lies there. ``files`` alone changes the file system.
"""
