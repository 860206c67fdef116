# What the drills need beside their scripts: a program that dies at the n-th of its system calls.
check_PROGRAMS += tests/drills/crashpoint
tests_drills_crashpoint_SOURCES = tests/drills/lib/crashpoint.c
