// Defects of the job files in docs/guide/cluster.md: shell syntax of the Slurm script, and fields, types and required members of
// the MPIJob and the PyTorchJob. The fields are those of the APIs kubeflow.org/v2beta1 and kubeflow.org/v1 that the guide uses,
// written by hand: each operator's own schema is 8,000 lines, of which most describe pods. No cluster reads them here.
import { spawnSync } from 'node:child_process'
import { parse } from 'yaml'

const string = (value) => typeof value === 'string' || 'must be a string'
const integer = (value) => Number.isInteger(value) || 'must be an integer'
const anyOf =
  (...values) =>
  (value) =>
    values.includes(value) || `must be one of ${values.join(', ')}`
const quantity = (value) =>
  /^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$/.test(String(value)) || 'must be a quantity such as 500m or 4Gi'
const listOf = (rule) => ({ list: rule })
/** Names that end with ! are required. */
const object = (members) => ({ members })

const CONTAINER = object({
  'name!': string,
  'image!': string,
  command: listOf(string),
  args: listOf(string),
  env: listOf(object({ 'name!': string, value: string })),
  securityContext: object({ runAsUser: integer }),
  resources: object({
    limits: object({ cpu: quantity, memory: quantity, 'nvidia.com/gpu': quantity }),
    requests: object({ cpu: quantity, memory: quantity }),
  }),
  volumeMounts: listOf(object({ 'name!': string, 'mountPath!': string })),
})
const REPLICA = object({
  replicas: integer,
  restartPolicy: anyOf('Never', 'OnFailure', 'Always', 'ExitCode'),
  'template!': object({
    'spec!': object({
      'containers!': listOf(CONTAINER),
      volumes: listOf(object({ 'name!': string, persistentVolumeClaim: object({ 'claimName!': string }) })),
    }),
  }),
})
const MPI_JOB = object({
  'apiVersion!': anyOf('kubeflow.org/v2beta1'),
  'kind!': anyOf('MPIJob'),
  'metadata!': object({ 'name!': string, namespace: string }),
  'spec!': object({
    slotsPerWorker: integer,
    mpiImplementation: anyOf('OpenMPI', 'Intel', 'MPICH'),
    launcherCreationPolicy: anyOf('AtStartup', 'WaitForWorkersReady'),
    sshAuthMountPath: string,
    runPolicy: object({
      cleanPodPolicy: anyOf('None', 'Running', 'All'),
      backoffLimit: integer,
      ttlSecondsAfterFinished: integer,
      activeDeadlineSeconds: integer,
    }),
    'mpiReplicaSpecs!': object({ 'Launcher!': REPLICA, Worker: REPLICA }),
  }),
})

const PYTORCH_JOB = object({
  'apiVersion!': anyOf('kubeflow.org/v1'),
  'kind!': anyOf('PyTorchJob'),
  'metadata!': object({ 'name!': string, namespace: string }),
  'spec!': object({
    nprocPerNode: string,
    elasticPolicy: object({
      minReplicas: integer,
      maxReplicas: integer,
      maxRestarts: integer,
      rdzvBackend: anyOf('c10d', 'etcd', 'etcd-v2'),
      rdzvHost: string,
      rdzvPort: integer,
      rdzvId: string,
      standalone: (value) => typeof value === 'boolean' || 'must be true or false',
    }),
    runPolicy: object({
      cleanPodPolicy: anyOf('None', 'Running', 'All'),
      backoffLimit: integer,
      ttlSecondsAfterFinished: integer,
      activeDeadlineSeconds: integer,
    }),
    'pytorchReplicaSpecs!': object({ Master: REPLICA, Worker: REPLICA }),
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
  if (!/^srun .*--kill-on-bad-exit=1/m.test(script)) defects.push('train.sh: srun must have --kill-on-bad-exit=1')
  if (defects.length > 0) return defects
  // The operator adds the variables of the ranks to the container of this name alone.
  for (const [role, { template }] of Object.entries(pyTorchJob.spec.pytorchReplicaSpecs)) {
    if (template.spec.containers.some(({ name }) => name === 'pytorch')) continue
    defects.push(`pytorch_job.yaml: ${role} must have a container with the name pytorch`)
  }
  if (pyTorchJob.spec.pytorchReplicaSpecs.Master?.replicas !== 1) defects.push('pytorch_job.yaml: one Master is needed')
  const { Launcher, Worker } = job.spec.mpiReplicaSpecs
  const { command } = Launcher.template.spec.containers[0]
  const ranks = Number(command[command.indexOf('-n') + 1])
  if (ranks > Worker.replicas * job.spec.slotsPerWorker) defects.push('job.yaml: mpirun starts more ranks than slots')
  return defects
}
