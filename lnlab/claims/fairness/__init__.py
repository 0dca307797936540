"""Whether a verdict is about the sentence, or about the setting that was judged: rules that can take a word back.

``controls`` asks whether what the sentence is about exists in these runs, and ``elsewhere`` what the same test says at
the other settings of the same experiment. ``ruling`` has the word that follows. None of them makes a verdict out of
nothing: a word becomes undecided or not testable, or stays.
"""
