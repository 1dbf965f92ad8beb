// the load test
