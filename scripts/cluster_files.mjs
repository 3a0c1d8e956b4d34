// Defects of the job files in docs/guide/cluster.md: shell syntax and directives of the Slurm script, and fields, types and required members of
// the MPIJob and the PyTorchJob. The rules below are the job's part of the schemas that the operators install, compared field by field with
// the CustomResourceDefinitions mpijobs.kubeflow.org, v2beta1, and pytorchjobs.kubeflow.org, v1 (training-operator 1.9). Fields and values that
// mpi-operator added up to release 0.6 (MPICH, launcherCreationPolicy, runLauncherAsWorker, managedBy) are those of its Go types. The rest of
// those schemas, 8,000 lines each, is the schema of a pod, which is checked by kubernetes-models. No cluster reads the files here.
import { spawnSync } from 'node:child_process'
import { PodTemplate } from 'kubernetes-models/v1'
import { parse } from 'yaml'

// The fields are those of the Go types MPIJobSpec (mpi-operator) and PyTorchJobSpec (training-operator). The operators' further
// checks are in checkMpiJob and checkPyTorchJob.
const string = (value) => typeof value === 'string' || 'must be a string'
const boolean = (value) => typeof value === 'boolean' || 'must be true or false'
const integer = (value) => Number.isInteger(value) || 'must be an integer'
const count = (value) => (Number.isInteger(value) && value >= 0) || 'must be an integer >= 0'
const anyOf =
  (...values) =>
  (value) =>
    values.includes(value) || `must be one of ${values.join(', ')}`
const quantity = (value) =>
  /^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/.test(String(value)) || 'must be a quantity such as 500m or 4Gi'
const listOf = (rule) => ({ list: rule })
const mapOf = (rule) => ({ map: rule })
/** Names that end with ! are required. */
const object = (members) => ({ members })

const RESOURCES = object({ cpu: quantity, memory: quantity, 'nvidia.com/gpu': quantity })
const METADATA = object({
  'name!': string,
  namespace: string,
  labels: mapOf(string),
  annotations: mapOf(string),
})
const CONTAINER = object({
  'name!': string,
  'image!': string,
  command: listOf(string),
  args: listOf(string),
  env: listOf(object({ 'name!': string, value: string })),
  securityContext: object({ runAsUser: integer }),
  resources: object({
    limits: RESOURCES,
    requests: RESOURCES,
  }),
  volumeMounts: listOf(object({ 'name!': string, 'mountPath!': string })),
})
/** `policies` are those that the operator accepts. */
const replica = (...policies) =>
  object({
    replicas: count,
    restartPolicy: anyOf(...policies),
    'template!': object({
      metadata: object({ labels: mapOf(string), annotations: mapOf(string) }),
      'spec!': object({
        'containers!': listOf(CONTAINER),
        schedulerName: string,
        priorityClassName: string,
        nodeSelector: mapOf(string),
        volumes: listOf(object({ 'name!': string, persistentVolumeClaim: object({ 'claimName!': string }) })),
      }),
    }),
  })
const MPI_REPLICA = replica('Never', 'OnFailure')
const PYTORCH_REPLICA = replica('Never', 'OnFailure', 'Always', 'ExitCode')

const runPolicy = (operator) =>
  object({
    cleanPodPolicy: anyOf('None', 'Running', 'All'),
    backoffLimit: count,
    ttlSecondsAfterFinished: count,
    activeDeadlineSeconds: count,
    suspend: boolean,
    managedBy: anyOf(operator, 'kueue.x-k8s.io/multikueue'),
    schedulingPolicy: object({
      minAvailable: count,
      minResources: RESOURCES,
      queue: string,
      priorityClass: string,
      scheduleTimeoutSeconds: count,
    }),
  })
const MPI_JOB = object({
  'apiVersion!': anyOf('kubeflow.org/v2beta1'),
  'kind!': anyOf('MPIJob'),
  'metadata!': METADATA,
  'spec!': object({
    slotsPerWorker: count,
    runLauncherAsWorker: boolean,
    mpiImplementation: anyOf('OpenMPI', 'Intel', 'MPICH'),
    launcherCreationPolicy: anyOf('AtStartup', 'WaitForWorkersReady'),
    sshAuthMountPath: string,
    runPolicy: runPolicy('kubeflow.org/mpi-operator'),
    'mpiReplicaSpecs!': object({ 'Launcher!': MPI_REPLICA, Worker: MPI_REPLICA }),
  }),
})

/** Metrics of autoscaling/v2 by which the number of pods is scaled. */
const TARGET = object({
  'type!': anyOf('Utilization', 'Value', 'AverageValue'),
  averageUtilization: integer,
  averageValue: quantity,
  value: quantity,
})
const METRIC_NAME = object({ 'name!': string, selector: object({ matchLabels: mapOf(string) }) })
const METRIC = object({
  'type!': anyOf('Resource', 'ContainerResource', 'Pods', 'Object', 'External'),
  resource: object({ 'name!': string, 'target!': TARGET }),
  containerResource: object({ 'name!': string, 'container!': string, 'target!': TARGET }),
  pods: object({ 'metric!': METRIC_NAME, 'target!': TARGET }),
  object: object({
    'describedObject!': object({ apiVersion: string, 'kind!': string, 'name!': string }),
    'metric!': METRIC_NAME,
    'target!': TARGET,
  }),
  external: object({ 'metric!': METRIC_NAME, 'target!': TARGET }),
})
const PYTORCH_JOB = object({
  'apiVersion!': anyOf('kubeflow.org/v1'),
  'kind!': anyOf('PyTorchJob'),
  'metadata!': METADATA,
  'spec!': object({
    nprocPerNode: (value) =>
      (typeof value === 'string' && /^(auto|cpu|gpu|[1-9]\d*)$/.test(value)) ||
      'must be a string: auto, cpu, gpu or a number',
    elasticPolicy: object({
      minReplicas: count,
      maxReplicas: count,
      maxRestarts: count,
      rdzvBackend: anyOf('c10d', 'etcd', 'etcd-v2'),
      rdzvHost: string,
      rdzvPort: count,
      rdzvId: string,
      rdzvConf: listOf(object({ key: string, value: string })),
      standalone: boolean,
      nProcPerNode: () => 'is deprecated since release 1.7: write spec.nprocPerNode, a string',
      metrics: listOf(METRIC),
    }),
    runPolicy: runPolicy('kubeflow.org/training-operator'),
    'pytorchReplicaSpecs!': object({ Master: PYTORCH_REPLICA, Worker: PYTORCH_REPLICA }),
  }),
})

/** Defects of a value, each with its path. */
function defectsOf(value, rule, path = '') {
  const place = path || 'the file'
  if (typeof rule === 'function') {
    const result = rule(value)
    return result === true ? [] : [`${place} ${result}: it is ${JSON.stringify(value)}`]
  }
  if ('list' in rule) {
    if (!Array.isArray(value)) return [`${place} must be a list`]
    return value.flatMap((each, index) => defectsOf(each, rule.list, `${path}[${index}]`))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${place} must be a mapping`]
  if ('map' in rule)
    return Object.entries(value).flatMap(([name, each]) => defectsOf(each, rule.map, `${path}.${name}`))
  const rules = new Map(Object.entries(rule.members).map(([name, each]) => [name.replace('!', ''), each]))
  const required = Object.keys(rule.members).filter((name) => name.endsWith('!'))
  return [
    ...required
      .map((name) => name.slice(0, -1))
      .filter((name) => !(name in value))
      .map((name) => `${place} must have ${name}`),
    ...Object.entries(value).flatMap(([name, each]) => {
      const inner = path === '' ? name : `${path}.${name}`
      const known = rules.get(name)
      return known === undefined ? [`${inner} is not known`] : defectsOf(each, known, inner)
    }),
  ]
}

/** Files of the guide: `<!-- file: name -->` before a block of code. */
function filesOf(markdown) {
  const blocks = markdown.matchAll(/<!-- file: (\S+) -->\n```\w+\n(.*?)```/gs)
  return new Map([...blocks].map(([, name, text]) => [name, text]))
}

/** Defects of the job files of a page. */
export function defectsOfGuide(markdown) {
  const files = filesOf(markdown)
  const script = files.get('train.sh')
  const manifest = files.get('job.yaml')
  const pyTorchManifest = files.get('pytorch_job.yaml')
  if (script === undefined || manifest === undefined || pyTorchManifest === undefined) {
    return ['the guide must have train.sh, job.yaml and pytorch_job.yaml']
  }
  const { status, stderr } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' })
  const job = parse(manifest)
  const defects = defectsOf(job, MPI_JOB).map((defect) => `job.yaml: ${defect}`)
  const pyTorchJob = parse(pyTorchManifest)
  defects.push(...defectsOf(pyTorchJob, PYTORCH_JOB).map((defect) => `pytorch_job.yaml: ${defect}`))
  if (status !== 0) defects.push(`train.sh: ${stderr}`)
  defects.push(...Array.from(checkDirectives(script), (defect) => `train.sh: ${defect}`))
  if (!/^srun .*--kill-on-bad-exit=1/m.test(script)) defects.push('train.sh: srun must have --kill-on-bad-exit=1')
  if (defects.length > 0) return defects
  defects.push(...Array.from(checkPyTorchJob(pyTorchJob.spec), (defect) => `pytorch_job.yaml: ${defect}`))
  defects.push(...Array.from(checkMpiJob(job.spec), (defect) => `job.yaml: ${defect}`))
  defects.push(...Array.from(checkPods(job.spec.mpiReplicaSpecs), (defect) => `job.yaml: ${defect}`))
  defects.push(...Array.from(checkPods(pyTorchJob.spec.pytorchReplicaSpecs), (defect) => `pytorch_job.yaml: ${defect}`))
  return defects
}

/** Options of sbatch (Slurm 22.05), and the form of their values; undefined for an option without one. */
const DIRECTIVES = {
  'job-name': /^\S+$/,
  nodes: /^\d+(-\d+)?$/,
  ntasks: /^\d+$/,
  'ntasks-per-node': /^\d+$/,
  'cpus-per-task': /^\d+$/,
  'gpus-per-node': /^(\w+:)?\d+$/,
  mem: /^\d+[KMGT]?$/,
  time: /^(\d+-)?\d+(:\d\d){0,2}$/,
  signal: /^([RB]+:)?(TERM|INT|USR1|USR2|\d+)(@\d+)?$/,
  partition: /^\S+$/,
  output: /^\S+$/,
  requeue: undefined,
  exclusive: undefined,
}

/** sbatch reads directives up to the first command, and takes a later or misspelled one for a comment. */
function* checkDirectives(script) {
  const lines = script.split('\n')
  const commands = lines.findIndex((line) => line !== '' && !line.startsWith('#'))
  for (const [index, line] of lines.entries()) {
    if (!/^#\s*SBATCH/.test(line)) continue
    const [, name, value] = /^#SBATCH --([a-z-]+)(?:=(\S+))?$/.exec(line) ?? []
    if (index > commands) yield `${line} must come before the first command`
    else if (name === undefined) yield `${line} must be #SBATCH --name=value`
    else if (!(name in DIRECTIVES)) yield `--${name} is no option of sbatch that is known here`
    else if (DIRECTIVES[name] === undefined && value !== undefined) yield `--${name} takes no value`
    else if (DIRECTIVES[name]?.test(value ?? '') === false) yield `--${name} cannot be ${value}`
  }
}

/** Defects of the pods by the schema of Kubernetes, which knows more fields than the rules above, and lets unknown ones pass. */
function* checkPods(replicas) {
  for (const [role, { template }] of Object.entries(replicas)) {
    try {
      new PodTemplate({ metadata: { name: role.toLowerCase() }, template }).validate()
    } catch (error) {
      yield `${role}: ${error.message}`
    }
  }
}

function* checkMpiJob({ mpiReplicaSpecs, slotsPerWorker = 1, runLauncherAsWorker = false }) {
  const { Launcher, Worker } = mpiReplicaSpecs
  if ((Launcher.replicas ?? 1) !== 1) yield 'one Launcher is needed'
  if (Worker?.replicas === 0) yield 'Worker must have replicas >= 1'
  const { command } = Launcher.template.spec.containers[0]
  const ranks = Number(command[command.indexOf('-n') + 1])
  const hosts = (Worker === undefined ? 0 : (Worker.replicas ?? 1)) + (runLauncherAsWorker ? 1 : 0)
  if (ranks > hosts * slotsPerWorker) yield 'mpirun starts more ranks than slots'
}

function* checkPyTorchJob({ pytorchReplicaSpecs, elasticPolicy, nprocPerNode }) {
  if ((pytorchReplicaSpecs.Master?.replicas ?? 1) !== 1) yield 'one Master is needed'
  if (pytorchReplicaSpecs.Master === undefined && elasticPolicy === undefined) yield 'one Master is needed'
  const { minReplicas = 0, maxReplicas = Number.POSITIVE_INFINITY } = elasticPolicy ?? {}
  if (minReplicas > maxReplicas) yield 'elasticPolicy.maxReplicas must be >= minReplicas'
  for (const [role, { template }] of Object.entries(pytorchReplicaSpecs)) {
    // The operator adds the variables of the ranks to the container of this name alone.
    const container = template.spec.containers.find(({ name }) => name === 'pytorch')
    if (container === undefined) {
      yield `${role} must have a container with the name pytorch`
      continue
    }
    // The operator then counts the processes of all pods in WORLD_SIZE, or leaves RANK to torchrun.
    const needsTorchrun = elasticPolicy !== undefined || Number(nprocPerNode) > 1
    if (needsTorchrun && container.command?.[0] !== 'torchrun') {
      yield `${role} must start torchrun, as a pod has several processes or their number changes`
    }
  }
}
