#!/usr/bin/env bash
# Fetches other versions of the libraries of the page: web/vendor.sh PREACT CYTOSCAPE DAGRE, each a version of npm. No code of a package runs.
set -euo pipefail
cd "$(dirname "$0")/../daemon/web/dist"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
npm install --prefix "$tmp" --ignore-scripts --no-audit --no-fund --loglevel=error "preact@$1" "cytoscape@$2" "@dagrejs/dagre@$3"
in=$tmp/node_modules
cp "$in/preact/dist/preact.mjs" preact.js
cp "$in/cytoscape/dist/cytoscape.esm.min.mjs" cytoscape.js
cp "$in/@dagrejs/dagre/dist/dagre.esm.js" dagre.js
{
	echo "The page of mgmt loads these libraries. The files are as their projects have published them."
	for library in "preact $1" "cytoscape $2" "@dagrejs/dagre $3"; do
		printf '\n%s\n%s\n\n' ---- "$library"
		cat "$in/${library% *}/LICENSE"
	done
	echo
	cat "$in/@dagrejs/dagre/dist/dagre.esm.js.LEGAL.txt"
} >licenses.txt
