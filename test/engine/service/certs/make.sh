#!/bin/sh
# Makes the certificates of this folder anew; README.md says what each is for. Needs OpenSSL 1.1.1 or later.
set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: > "$scratch/index.txt"
echo 1000 > "$scratch/serial"
cat > "$scratch/ca.cnf" <<EOF
[ca]
default_ca = test_ca
[test_ca]
database = $scratch/index.txt
new_certs_dir = $scratch
serial = $scratch/serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
EOF

# request <name> <subjectAltName>: a key and a signing request
request() {
  openssl ecparam -name prime256v1 -genkey -noout -out "$scratch/$1.key"
  openssl req -new -key "$scratch/$1.key" -subj "/CN=profiles test $1" -addext "subjectAltName=$2" -out "$scratch/$1.csr"
}

# sign <name> <start> <end> <openssl ca arguments>: dates are YYYYMMDDHHMMSSZ
sign() {
  name=$1 start=$2 end=$3
  shift 3
  openssl ca -batch -notext -config "$scratch/ca.cnf" -startdate "$start" -enddate "$end" \
    -in "$scratch/$name.csr" -out "$name.pem" "$@"
}

# issued <name> <subjectAltName> <start> <end>: signed by the authority
issued() {
  request "$1" "$2"
  sign "$1" "$3" "$4" -cert authority.pem -keyfile "$scratch/authority.key"
  cp "$scratch/$1.key" .
}

here='DNS:localhost,IP:127.0.0.1'
request authority 'DNS:authority.invalid'
sign authority 20200101000000Z 21200101000000Z -selfsign -keyfile "$scratch/authority.key" -extensions authority
issued good "$here" 20200101000000Z 21200101000000Z
issued expired "$here" 20200101000000Z 20200201000000Z
issued early "$here" 21190101000000Z 21200101000000Z
issued other-host 'DNS:other.example' 20200101000000Z 21200101000000Z
request self-signed "$here"
sign self-signed 20200101000000Z 21200101000000Z -selfsign -keyfile "$scratch/self-signed.key"
cp "$scratch/self-signed.key" .
