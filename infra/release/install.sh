#!/bin/sh
# Installs aptix @VERSION@ for this machine. `scripts/release installer` writes the version and the checksums.
#
#   sh install.sh [FOLDER]      install into FOLDER, or else ~/.local/bin
#
# Downloads the archive of this machine, compares its checksum with the one below, and copies the programs. An existing version is
# replaced. Requires curl, tar, and sha256sum or shasum.
set -eu

folder=${1:-$HOME/.local/bin}
# Where the archives are; a mirror has the same names.
releases=${APTIX_RELEASES:-@RELEASES@}
machine=$(uname -sm)
case $machine in
    @ARCHIVES@
    *) echo "error: there is no aptix @VERSION@ for $machine. Build it from a checkout: cargo install --locked --path aptix" >&2; exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "Downloading $releases/$archive"
curl --fail --location --silent --show-error --output "$work/$archive" "$releases/$archive"
if command -v sha256sum >/dev/null; then found=$(sha256sum "$work/$archive"); else found=$(shasum -a 256 "$work/$archive"); fi
if [ "${found%% *}" != "$digest" ]; then
    echo "error: the checksum of $archive is ${found%% *}, not $digest. Nothing was installed." >&2
    exit 1
fi
tar -xzf "$work/$archive" -C "$work"
mkdir -p "$folder"
for program in aptix document-text embedded-qdrant; do
    file=$work/${archive%.tar.gz}/$program
    [ -f "$file" ] || continue
    # A running program can be replaced, but not overwritten.
    cp "$file" "$folder/.$program.new"
    mv -f "$folder/.$program.new" "$folder/$program"
done
echo "Installed aptix @VERSION@ in $folder"
case :$PATH: in
    *:"$folder":*) ;;
    *) echo "Add it to your PATH: export PATH=\"$folder:\$PATH\"" ;;
esac
