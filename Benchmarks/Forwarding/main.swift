// bench
