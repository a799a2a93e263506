.PHONY: install demo test lint serve messages ci

install demo test lint serve:
	@python3 bootstrap.py $@

messages:
	@.venv/bin/python -m tests.languages.catalog

ci:
	@bash -c 'd=$$(mktemp -d); trap "rm -rf $$d" EXIT; git clone -q . $$d/placet && bash $$d/placet/.ci/run' </dev/null
