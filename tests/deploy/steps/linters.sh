#!/usr/bin/env bash
# shellcheck over all scripts of deploy/ and tests/, yamllint over all of their YAML
. "$(dirname "$0")/../common.sh"
install shellcheck yamllint

cd "$repository"
mapfile -t scripts < <(find deploy tests -name '*.sh' -o -name '*.sbatch' | sort)
mapfile -t yaml < <(find deploy tests \( -name '*.yaml' -o -name '*.yml' \) | sort)
shellcheck --external-sources "${scripts[@]}"
yamllint --strict "${yaml[@]:-/dev/null}"
echo "${#scripts[@]} scripts and ${#yaml[@]} YAML files without a finding"
