"""What a reader sees: a folder of tables becomes a page, a notebook, figures and tables for a paper.

    write_report:  facts, results, verdicts -> data/   (folder: only the rows that the sections use)
    render:        data/ -> parts (compose) -> figures (page) -> index.html, notebook.ipynb, figures/, tables/

A section is a frozen value made of frames; page, notebook and files all render that one value, and ``render`` reads
nothing but ``data/``. A section that breaks becomes a reason on the page and in what ``write_report`` returns.
"""
