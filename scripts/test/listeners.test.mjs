import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const REGISTERS = new Set(['on', 'once', 'addEventListener', 'addListener', 'prependListener'])
const HANDLER = /^on(message|messageerror|error|close|open|abort)$/
const TIMERS = new Set(['setInterval', 'setTimeout', 'setImmediate', 'queueMicrotask'])

const MAY_LISTEN =
  /\.(on|once|\w+Listener)\(|\.on\w+ =|\bset(Interval|Timeout|Immediate)\(|queueMicrotask|FinalizationRegistry/

/** A listener that cannot throw: it settles a promise, ends something, or does nothing. */
const HARMLESS =
  /^(resolve|reject|wake|\(?\w*\)? ?=>\s*(\{\}|undefined|resolve\(.*\)|reject\(.*\)|\w+\.(destroy|terminate|close|abort|revokeObjectURL)\(.*\)|[\w.#]+\.delete\(\w+\)|clearTimeout\(\w+\)|void \w+\.terminate\(\)))$/s

/** Files whose listeners may throw, and why: a listener that is added to one of them is read against its reason. */
const KNOWN = new Map(
  Object.entries({
    'packages/canonical/src/rules/abortable.ts': 'sets a timer, whose function is guarded',
    'packages/canonical/src/rules/event_loop.ts': 'resolves a promise, or a task of end_of_turn.ts',
    'apps/bench': 'a benchmark, which an exception may end',
    'apps/cli/src': 'a program of one user, which an exception ends; only its own children and streams are listened to',
    'apps/examples/src/bin.ts': 'a program of one user, which the end of its output ends',
    'apps/examples/src/voice_load': 'the load generator, which an exception may end',
    'apps/gpu_validation': 'a validation, which an exception may end',
    'apps/playground': 'a page: an exception there ends nothing',
    'packages/checkpoint/src/store/file_lock.ts': 'a call with a caught rejection',
    'packages/cudnn/src': 'frees objects by numbers in a queue; a failure of the queue is kept for the next call',
    'packages/distributed/src/mpi': 'events of the process: they report its end',
    'packages/distributed/src/nccl/nccl_communicator.ts': 'events of the process: they report its end',
    'packages/distributed/src/nccl/heartbeats.ts':
      'messages of the thread of this program; the thread guards the messages of the network',
    'packages/ops/src/executor': 'sets a flag or frees memory by its number',
    'packages/interop/src/files/hdf5_worker.ts': 'the end of its thread is reported to the file that it serves',
    'packages/interop/src/files/hdf5_thread.ts':
      'answers of the thread of this program, one to each request; settles a promise, or forgets the thread',
    'packages/models/src/streams/end_of_turn.ts': 'its tasks catch errors of the networks of callers',
    'packages/models/src/threads/serve_streams.ts':
      'the end of a thread is reported to its pool, which starts another one',
    'packages/models/src/threads/stream_worker.ts': 'the end of a thread, which is reported to its pool',
    'packages/models/src/threads/worker_pool.ts': 'catches what start() throws; onWorkerLost is guarded',
    'packages/wasm/src': 'a failure of a thread rejects the start, or stops the pool; memory is freed by its number',
  }),
)

/** Listeners of a source: each registration and its place. */
function listenersOf(file) {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true)
  const found = []
  const visit = (node) => {
    if (ts.isCallExpression(node)) {
      const { expression, arguments: values } = node
      const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText()
      const isEvent =
        REGISTERS.has(name) && values.length > 1 && /^(['"].*|signal|event|name)$/.test(values[0].getText())
      if (isEvent) found.push(values[1])
      if (TIMERS.has(name) && values.length > 0) found.push(values[0])
    } else if (ts.isNewExpression(node) && node.expression.getText() === 'FinalizationRegistry') {
      found.push(node.arguments[0])
    } else if (ts.isBinaryExpression(node) && ts.isPropertyAccessExpression(node.left)) {
      const isAssignment = node.operatorToken.kind === ts.SyntaxKind.EqualsToken
      if (isAssignment && HANDLER.test(node.left.name.text)) found.push(node.right)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  // A listener that is removed again has a name.
  const isGuarded = (text) => new RegExp(`^\\s*const ${text.replaceAll('$', '')} = guarded\\(`, 'm').test(source.text)
  return found.map((listener) => listener.getText()).filter((text) => !(/^\w+$/.test(text) && isGuarded(text)))
}

const files = ['packages', 'apps']
  .flatMap((folder) => filesBelow(root, join(root, folder), /\.tsx?$/))
  .filter((file) => file.includes('/src/') && MAY_LISTEN.test(readFileSync(join(root, file), 'utf8')))

it('every listener goes through guarded(), cannot throw, or is in a file whose reason is stated', () => {
  const unguarded = files.flatMap((file) =>
    listenersOf(file)
      .filter((listener) => !listener.startsWith('guarded(') && !HARMLESS.test(listener))
      .map((listener) => [file, listener.slice(0, 80)]),
  )
  const reasonOf = (file) => [...KNOWN.keys()].find((path) => file === path || file.startsWith(`${path}/`))
  expect(unguarded.filter(([file]) => reasonOf(file) === undefined)).toEqual([])
  // No reason is left over.
  expect([...KNOWN.keys()].filter((path) => !unguarded.some(([file]) => reasonOf(file) === path))).toEqual([])
})
