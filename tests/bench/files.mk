# Benchmarks of parts: check_PROGRAMS, so that they are built with the tests; nothing runs them by itself.
