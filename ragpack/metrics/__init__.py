"""Metrics: one record's values in, numbers or `None` out. Pure functions, no files, no models.

`answer` scores a reader's string (EM, F1 under a named profile), `context` asks what of the answer and of
the gold documents survived into the packed context, `retrieval` scores the ranked list that the packer saw,
and `verdict` says in one word where a question was lost. Undefined is `None`, never 0.0: a mean over rows
must count such rows apart.
"""
