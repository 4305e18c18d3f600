#!/bin/sh
# A SLURM of one node, this machine, for tests: `slurm.sh start FOLDER`, `slurm.sh stop FOLDER`.
# Needs root and Debian's munge, slurmctld, slurmd and slurm-client; everything it writes is in FOLDER.
# No accounting (`sacct`), as on many a small cluster. The caller sets SLURM_CONF=FOLDER/slurm.conf.
set -eu
action=$1
folder=$2

stop() {
    for name in slurmd slurmctld munged; do
        if [ -f "$folder/$name.pid" ]; then
            kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
        fi
    done
}

start() {
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge"
    host=$(hostname -s)
    cat > "$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=1
ReturnToService=2
KillWait=5
JobRequeue=1
MinJobAge=10
PropagateResourceLimits=NONE
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
    dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 2>/dev/null
    chown -R munge "$folder/munge"
    chmod 700 "$folder/munge"
    chmod 400 "$folder/munge/key"
    chmod 755 "$folder/munge"
    setpriv --reuid=munge --regid=munge --clear-groups \
        munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
        --pid-file="$folder/munge/munged.pid" --log-file="$folder/munge/munged.log" \
        --seed-file="$folder/munge/seed"
    cp "$folder/munge/munged.pid" "$folder/munged.pid"
    export SLURM_CONF="$folder/slurm.conf"
    slurmctld
    slurmd
    tries=0
    until sinfo --noheader --format=%T 2>/dev/null | grep -q idle; do
        tries=$((tries + 1))
        if [ $tries -gt 60 ]; then
            sinfo || true
            tail -5 "$folder"/*.log
            exit 1
        fi
        sleep 0.5
    done
}

case $action in
start) start ;;
stop) stop ;;
esac
