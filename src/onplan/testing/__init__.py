"""Parts for the tests of people who build on onplan: scripted models and conformance suites."""
