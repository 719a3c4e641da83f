#!/usr/bin/env python3
"""Runs the tests/<group>/*_test.py files with unittest and writes "passed failed" into a file.

usage: run_group.py FOLDER COUNT_FILE [NAME]    only tests whose id contains NAME
"""
import pathlib
import sys
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root))


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    folder, count_file = sys.argv[1:3]
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    loader = unittest.TestLoader()
    found = loader.discover(str(root / folder), pattern="*_test.py", top_level_dir=str(root / folder))
    suite = unittest.TestSuite(test for test in flatten(found) if wanted in test.id())
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    passed = result.testsRun - failed - len(result.skipped)
    pathlib.Path(count_file).write_text(f"{passed} {failed}\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
