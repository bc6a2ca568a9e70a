"""What holds for every test."""

from hypothesis import settings

# `make test` tries the same examples each time; `make soak` looks for new ones.
settings.register_profile("test", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=10_000, print_blob=True)
settings.load_profile("test")
