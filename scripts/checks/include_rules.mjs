// The layers of C++ folders: part of `pnpm layers`.
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { cycles } from './graph_cycles.mjs'
import { filesBelow } from '../workspace.mjs'

const INCLUDE = /^\s*#\s*include\s+["<]([^">]+)[">]/gm

/** Sources of the compilers, CUDA kernels among them. */
const CPP = /\.(cc|cu|h)$/

/** The one file that may include Node-API, so that all files configure it in the same way. */
const NAPI_SETUP = 'native/common/napi_setup.h'

/**
 * Violations in the folders of `includeOrder`: a source folder → its subfolders from the bottom layer up; none if the
 * folder is one layer. A file includes headers of the same layer and of those below, named from the source folder on. Every
 * folder below native/ that has C++ must be among them.
 */
export function includeViolations(root, includeOrder) {
  return [
    ...unlistedFolders(root, Object.keys(includeOrder)),
    ...Object.entries(includeOrder).flatMap(([source, order]) => folderViolations(root, source, order)),
  ]
}

function unlistedFolders(root, sources) {
  const unlisted = filesBelow(root, join(root, 'native'), CPP).filter((file) => {
    const isTest = /^native\/\w+\/(test|bench|std)\//.test(file)
    return !isTest && !sources.some((source) => file.startsWith(`${source}/`))
  })
  return unlisted.map((file) => `${file}: is in no source folder of includeOrder in layers.json`)
}

function folderViolations(root, source, order) {
  const files = filesBelow(root, join(root, source), CPP)
  const violations = []
  const graph = new Map()
  for (const file of files) {
    const path = posix.relative(source, file)
    const level = order.indexOf(path.split('/')[0])
    if (level < 0 && order.length > 0) violations.push(`${file}: is in none of the folders ${order.join(', ')}`)
    const included = [...readFileSync(join(root, file), 'utf8').matchAll(INCLUDE)].map(([, name]) => name)
    const own = included.filter((name) => existsSync(join(root, source, name)))
    graph.set(path, own)
    for (const name of own) {
      const target = order.indexOf(name.split('/')[0])
      if (target > level) violations.push(`${file}: includes ${name}, of a layer above`)
    }
    if (included.includes('napi.h') && file !== NAPI_SETUP) {
      violations.push(`${file}: includes napi.h; ${NAPI_SETUP} is the only file that does`)
    }
  }
  return [...violations, ...cycles(graph).map((cycle) => `${source}: include cycle: ${cycle.join(' -> ')}`)]
}
