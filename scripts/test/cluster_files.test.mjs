import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { defectsOfGuide } from '../cluster_files.mjs'

const guide = readFileSync(new URL('../../docs/guide/cluster.md', import.meta.url), 'utf8')

it('the job files of the guide have the fields and types of their formats', () => {
  expect(defectsOfGuide(guide)).toEqual([])
})

it.each([
  ['slotsPerWorker: 1', 'slotsPerWorker: one', /slotsPerWorker must be an integer >= 0: it is "one"/],
  ['mpiImplementation', 'implementation', /spec\.implementation is not known/],
  ['kind: MPIJob', 'kind: Job', /kind must be one of MPIJob/],
  ['    Launcher:', '    Starter:', /mpiReplicaSpecs must have Launcher/],
  ['cpu: 2', 'cpu: two', /resources\.limits\.cpu must be a quantity/],
  ['-n, "4"', '-n, "5"', /more ranks than slots/],
  ['kind: PyTorchJob', 'kind: TorchJob', /pytorch_job\.yaml: kind must be one of PyTorchJob/],
  ['name: pytorch', 'name: torch', /Master must have a container with the name pytorch/],
  ['nvidia.com/gpu: 1', 'nvidia.com/gpu: one', /limits\.nvidia\.com\/gpu must be a quantity/],
  ['backoffLimit: 3', 'backoffLimit: -1', /runPolicy\.backoffLimit must be an integer >= 0/],
  ['backoffLimit: 3', 'suspend: "no"', /runPolicy\.suspend must be true or false/],
  ['backoffLimit: 3', 'managedBy: me', /managedBy must be one of kubeflow\.org\/mpi-operator, kueue/],
  ['backoffLimit: 3', 'schedulingPolicy: { minMember: 4 }', /schedulingPolicy\.minMember is not known/],
  ['slotsPerWorker: 1', 'slotsPerWorker: 1\n  runLauncherAsWorker: 1', /runLauncherAsWorker must be true or false/],
  ['replicas: 1\n      template', 'replicas: 2\n      template', /job\.yaml: one Launcher is needed/],
  ['replicas: 1\n      restartPolicy', 'replicas: 2\n      restartPolicy', /pytorch_job\.yaml: one Master is needed/],
  ['set -euo pipefail', 'if true', /train\.sh: .*syntax error/],
  ['--time=04:00:00', '--time=four', /train\.sh: --time cannot be four/],
  ['--ntasks-per-node=4', '--tasks-on-node=4', /train\.sh: --tasks-on-node is no option of sbatch/],
  ['--requeue', '--requeue=yes', /train\.sh: --requeue takes no value/],
  ['#SBATCH --nodes=2', '# SBATCH --nodes=2', /train\.sh: # SBATCH --nodes=2 must be #SBATCH --name=value/],
  ['#SBATCH --signal', 'module load node\n#SBATCH --signal', /train\.sh: #SBATCH --signal=TERM@120 must come before/],
  ['memory: 4Gi', 'memory: 4.5.6Gi', /job\.yaml: .*memory must be a quantity/],
  ['mountPath: /runs', 'mountPath: /runs\n                  subPath: 3', /subPath is not known/],
  ['--kill-on-bad-exit=1 ', '', /srun must have --kill-on-bad-exit/],
])('finds %s changed to %s', (from, to, message) => {
  expect(guide).toContain(from)
  expect(defectsOfGuide(guide.replace(from, to)).join('\n')).toMatch(message)
})

const PYTORCH_SPEC = /(kind: PyTorchJob[\s\S]*?\nspec:\n)/

it.each([
  ['nprocPerNode: 8', /nprocPerNode must be a string: auto, cpu, gpu or a number: it is 8/],
  ['nprocPerNode: "8"', /Master must start torchrun, as a pod has several processes/],
  ['elasticPolicy: { minReplicas: 3, maxReplicas: 2 }', /elasticPolicy\.maxReplicas must be >= minReplicas/],
  ['elasticPolicy: { rdzvBackend: tcp }', /rdzvBackend must be one of c10d, etcd, etcd-v2/],
  ['elasticPolicy: { rdzvConf: { timeout: "60" } }', /rdzvConf must be a list/],
  ['elasticPolicy: { rdzvConf: [{ key: timeout, value: 60 }] }', /rdzvConf\[0\]\.value must be a string/],
  ['elasticPolicy: { nProcPerNode: 8 }', /elasticPolicy\.nProcPerNode is deprecated since release 1\.7/],
  ['elasticPolicy: { metrics: [{ type: Cpu }] }', /metrics\[0\]\.type must be one of Resource/],
  ['elasticPolicy: { metrics: [{ type: Resource, resource: { name: cpu } }] }', /resource must have target/],
])('finds a PyTorchJob with %s', (line, message) => {
  expect(defectsOfGuide(guide.replace(PYTORCH_SPEC, `$1  ${line}\n`)).join('\n')).toMatch(message)
})

it('accepts every field of the two formats', () => {
  const policy = [
    '    suspend: false',
    '    managedBy: kueue.x-k8s.io/multikueue',
    '    schedulingPolicy: { minAvailable: 4, minResources: { cpu: 8, memory: 16Gi }, queue: q, priorityClass: low, scheduleTimeoutSeconds: 60 }',
    '    ttlSecondsAfterFinished: 600',
    '    activeDeadlineSeconds: 3600',
    '    backoffLimit: 3',
  ].join('\n')
  const elastic = [
    '  nprocPerNode: "8"',
    '  elasticPolicy:',
    '    minReplicas: 1',
    '    maxReplicas: 4',
    '    maxRestarts: 3',
    '    rdzvBackend: c10d',
    '    rdzvConf: [{ key: timeout, value: "60" }]',
    '    metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 80 } } }]',
    '',
  ].join('\n')
  const changed = guide
    .replaceAll('    backoffLimit: 3', policy)
    .replace(PYTORCH_SPEC, `$1${elastic}`)
    .replace(/(kind: PyTorchJob[\s\S]*)$/, (rest) =>
      rest.replaceAll('command: [node,', 'command: [torchrun, --no-python, node,'),
    )
    .replace('kind: MPIJob\nmetadata:\n', 'kind: MPIJob\nmetadata:\n  labels: { kueue.x-k8s.io/queue-name: q }\n')
  expect(changed).not.toBe(guide)
  expect(defectsOfGuide(changed)).toEqual([])
})
