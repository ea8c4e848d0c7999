#!/usr/bin/env bash
# Submits the jobs of steps/slurm.sh on its cluster, as a user other than root.
. "$(dirname "$0")/../common.sh"
script=/mnt/deploy/slurm/netdiv.sbatch
export BIN=/mnt/bin NODE_CONFIG=/mnt/home/node.toml SCRATCH=/mnt/home/scratch
echo 'model = "/mnt/deploy/digits/digits.onnx"' >"$NODE_CONFIG"
mkdir -m 777 "$SCRATCH"

as_user() { (cd "/mnt/home" && HOME=/mnt/home setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"); }
submit() { as_user sbatch --parsable --nodes=3 "$@"; }
state() { scontrol show job "$1" | grep -oE 'JobState=\w+' | cut -d= -f2; }
ended() { [[ $(state "$1") =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT)$ ]] && [ -z "$(squeue --noheader --jobs "$1")" ]; }
# One name at a time: pgrep does not match patterns of more than 15 letters.
is_left() { pgrep -x sut-node || pgrep -x loadgen-node || pgrep -x srun || pgrep -x slurmstepd || compgen -G "/mnt/home/.netdiv-*" || compgen -G "$SCRATCH/*"; }
nothing_left() { ! is_left >"$OUT/left"; }
# Waits for the end of a job, compares its exit code, and checks that it has left nothing: JOB CODE.
ends_with() {
    local job=$1 expected=$2 code
    within 90 ended "$job" || { cat "/mnt/home/netdiv-$job.log"; fail "job $job does not end: $(state "$job")"; }
    cp -R "/mnt/home/netdiv-$job"* "$OUT/"
    code=$(scontrol show job "$job" | grep -oE ' ExitCode=[0-9]+:[0-9]+')
    if [ "$code" != " ExitCode=$expected" ]; then
        cat "/mnt/home/netdiv-$job.log"
        fail "job $job:$code, not $expected"
    fi
    within 40 nothing_left || fail "job $job has left: $(tr '\n' ' ' <"$OUT/left")"
    if grep -rl 'PRIVATE KEY' "/mnt/home"; then fail "job $job has left a key"; fi
}
says() { grep -E "$2" "/mnt/home/netdiv-$1.log" || { cat "/mnt/home/netdiv-$1.log"; fail "no output of job $1 matches /$2/"; }; }
is_running() { [ "$(state "$1")" = RUNNING ]; }
# Succeeds if LoadGen is running on nd1 with both nodes: JOB.
runs() { pgrep -x loadgen-node && grep -qs generated_query_count "$SCRATCH/netdiv-$1".*/results/mlperf_log_detail.txt; }
# Prints the id of a host's node, not of the srun that started it: HOST.
node_on() {
    for process in $(pgrep -x sut-node); do
        if grep -qz "/$1.json" "/proc/$process/cmdline"; then echo "$process"; fi
    done
}
long_run=(run --benchmark digits --scenario server --setting server_target_qps=50 --setting min_duration_ms=600000)

echo "-- an accuracy run ends with COMPLETE, and its results are in the folder of the submission"
job=$(submit "$script" run --benchmark digits --scenario offline --mode accuracy)
ends_with "$job" 0:0
says "$job" COMPLETE
for node in nd2 nd3; do
    grep -q 'ended node' "$OUT/netdiv-$job/$node.log" || fail "the node on $node did not drain"
done
python3 - "/mnt/home/netdiv-$job/result.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert result["verdict"] == "COMPLETE", result["verdict"]
assert sorted(node["name"] for node in result["nodes"]) == ["nd2-50051", "nd3-50051"], result["nodes"]
END

echo "-- a performance run ends with VALID"
# A bound that a busy machine meets too.
job=$(submit "$script" run --benchmark digits --scenario server --setting server_target_qps=200 \
    --setting server_target_latency_ns=10000000000 --setting min_duration_ms=5000 --setting min_query_count=1)
ends_with "$job" 0:0
says "$job" VALID

echo "-- an invalid run fails the job with the LoadGen node's exit code"
job=$(submit "$script" run --benchmark digits --scenario offline --setting min_duration_ms=10000 --setting min_query_count=1)
ends_with "$job" 1:0
says "$job" INVALID

echo "-- scancel during a run leaves no process, no key and no folder"
job=$(submit "$script" "${long_run[@]}")
within 60 runs "$job" || fail "the run of job $job does not start"
if nothing_left; then fail "a running job is not detected"; fi
scancel "$job"
within 60 ended "$job" || fail "job $job does not end after scancel"
[ "$(state "$job")" = CANCELLED ] || fail "job $job: $(state "$job"), not CANCELLED"
within 40 nothing_left || fail "scancel has left: $(tr '\n' ' ' <"$OUT/left")"

echo "-- a node that dies during a run fails the job with its reason"
job=$(submit "$script" "${long_run[@]}")
within 60 runs "$job" || fail "the run of job $job does not start"
kill -KILL "$(node_on nd3)"
ends_with "$job" 3:0
says "$job" 'lost node "?nd3'
says "$job" 'the node on nd3 ended, exit code'

echo "-- a node that cannot start fails the job before a run, with its reason"
echo 'model = "nowhere.onnx"' >"$NODE_CONFIG"
job=$(submit "$script" run --benchmark digits --scenario offline)
ends_with "$job" 3:0
says "$job" 'nowhere.onnx'

echo "-- one host is too few"
job=$(as_user sbatch --parsable --nodes=1 "$script" run --benchmark digits --scenario offline)
ends_with "$job" 2:0
says "$job" 'one host is too few'
