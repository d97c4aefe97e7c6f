#!/usr/bin/env bash
# The pipeline that people build from Debian's own tools: CSV to JSON Lines, about 1,000 rows to a request,
# eight requests in flight.
#   bench/peers.sh <csv file> <url>
set -euo pipefail
mlr --icsv --ojsonl cat "$1" |
  parallel --will-cite --pipe --block 325k --jobs 8 "
    jq --compact-output --slurp '{companies: map({company_id, metadata: del(.company_id)})}' |
      curl --silent --show-error --fail --output /dev/null \
        --header 'Content-Type: application/json' --header 'Authorization: Token t' \
        --data-binary @- '$2/v1/companies/bulk_identify'"
