"""Executors and all-reduces of Ray and MPI, where these are installed: the same bytes as on one machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import weald
from sklearn.base import clone
from test_distribute import LABELS, MODELS, KillsAWorker, X
from weald import distribute

# If mpiexec is installed with the Python packages, it is in the folder of the interpreter.
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


@pytest.fixture(scope="module")
def ray():
    module = pytest.importorskip("ray", reason="Ray is not installed")
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {"env_vars": {"PYTHONPATH": paths}}
    module.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    yield module
    module.shutdown()


@pytest.fixture
def executor(ray):
    class RayExecutor:
        """The executor of docs/many-machines.md."""

        scatter = staticmethod(ray.put)

        def submit(self, function, *arguments):
            task = ray.remote(function).remote(*arguments)
            future = task.future()
            future.add_done_callback(lambda future: ray.cancel(task) if future.cancelled() else None)
            return future

    return RayExecutor()


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_ray_gives_the_bytes_of_one_machine(executor):
    for model, y in MODELS.values():
        found = distribute.fit(clone(model), X, y, executor, n_parts=3, timeout=120)
        assert weald.dumps(found) == weald.dumps(clone(model).fit(X, y))
    forest = clone(MODELS["forest"][0]).fit(X, LABELS)
    indices, scores = distribute.predict(forest, X, executor, method="predict_topk", k=2, n_parts=3)
    assert (indices == forest.predict_topk(X, 2)[0]).all()
    assert (scores == forest.predict_topk(X, 2)[1]).all()


@pytest.mark.alone
def test_errors_on_workers_of_ray_are_those_of_one_machine(executor):
    model = weald.RandomForestClassifier(4, max_depth=0, random_state=0)
    with pytest.raises(ValueError, match="max_depth"):
        distribute.fit(model, X, LABELS, executor, n_parts=2, timeout=120)
    assert not hasattr(model, "estimators_")


@pytest.mark.alone
def test_ray_gives_the_same_bytes_when_a_worker_is_killed(executor, tmp_path):
    forest = weald.RandomForestClassifier(12, random_state=0)
    marker = tmp_path / "killed"
    model = KillsAWorker(marker=str(marker), **forest.get_params())
    distribute.fit(model, X, LABELS, executor, n_parts=4, timeout=120)
    assert marker.exists()
    found = clone(forest)
    found.__dict__ = {name: value for name, value in vars(model).items() if name != "marker"}
    assert weald.dumps(found) == weald.dumps(forest.fit(X, LABELS))


MPI_JOB = """
import json, sys
import numpy as np, weald
from mpi4py import MPI
from sklearn.base import clone
from weald.distribute import fit_part

rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()


def all_reduce(buffer, op):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, buffer, op={"sum": MPI.SUM, "max": MPI.MAX}[op])


rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5)).astype(np.float32)
Y = (X @ rng.normal(size=(5, 6)) > 0).astype(int)
model = weald.GradientBoostingClassifier(n_estimators=4, max_leaf_nodes=5, random_state=0)
part = fit_part(clone(model), X[rank::size], Y[rank::size], all_reduce, n_samples=90)
order = [i for worker in range(size) for i in range(worker, 90, size)]
is_same = weald.dumps(part) == weald.dumps(clone(model).fit(X[order], Y[order]))
found = MPI.COMM_WORLD.gather(is_same)
if rank == 0:
    print(json.dumps(found))
"""

MPI_POOL_JOB = """
import json
import weald
from mpi4py.futures import MPIPoolExecutor
from sklearn.base import clone
from weald import distribute
from test_distribute import LABELS, MODELS, X

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        found = []
        for model, y in MODELS.values():
            forest = distribute.fit(clone(model), X, y, executor, n_parts=3, timeout=120)
            found.append(weald.dumps(forest) == weald.dumps(clone(model).fit(X, y)))
        forest = clone(MODELS["forest"][0]).fit(X, LABELS)
        indices, _ = distribute.predict(forest, X, executor, method="predict_topk", k=2, n_parts=3)
        found.append(bool((indices == forest.predict_topk(X, 2)[0]).all()))
    print(json.dumps(found))
"""


# All processes are killed when the checkpoint has been written, or the fit ends.
MPI_CHECKPOINT_JOB = (
    MPI_JOB.partition("rng = ")[0].replace("    MPI.COMM_WORLD.All", "    check()\n    MPI.COMM_WORLD.All")
    + """
import os, signal
path = sys.argv[1]
begun = os.path.exists(path)


def check():
    if not begun and os.path.exists(path):
        os.kill(os.getpid(), signal.SIGKILL)


rng = """
    + MPI_JOB.partition("rng = ")[2]
    .replace("n_estimators=4", "n_estimators=9")
    .replace("n_samples=90", "n_samples=90, checkpoint=path, every=2")
)


def run_mpi(tmp_path, job, *options, n=3, arguments=(), is_killed=False):
    """The results that a job on some processes prints, which are killed or not."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec")
    script = tmp_path / "job.py"
    script.write_text(job)
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    # Open MPI has to be told that more processes than cores, and the superuser, are allowed.
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    environment = {**os.environ, **allowed, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [MPIEXEC, "-n", str(n), sys.executable, *options, str(script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150, check=False)
    assert (done.returncode != 0) == is_killed, done.stderr[-2000:]
    return None if is_killed else json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.alone
def test_samples_apart_by_mpi(tmp_path):
    assert run_mpi(tmp_path, MPI_JOB) == [True, True, True]


@pytest.mark.alone
def test_processes_of_mpi_go_on_from_the_checkpoint_of_others_that_were_killed(tmp_path):
    path = tmp_path / "stages"
    run_mpi(tmp_path, MPI_CHECKPOINT_JOB, arguments=[str(path)], is_killed=True)
    assert weald.load(path).n_estimators_ in (2, 4)
    assert run_mpi(tmp_path, MPI_CHECKPOINT_JOB, arguments=[str(path)], n=2) == [True, True]


@pytest.mark.alone
def test_executor_of_mpi(tmp_path):
    assert run_mpi(tmp_path, MPI_POOL_JOB, "-m", "mpi4py.futures") == [True] * 4
