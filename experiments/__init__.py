"""Everything people run: the command line, conformance, benchmarks, tournaments and reports."""
