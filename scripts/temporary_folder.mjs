import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Gives a program its own temporary folder, which its processes inherit. When the program has ended, by a signal too, another
 * process ends the processes that are left and removes the folder, if the program could not. A handler of signals in the program could not: it never runs
 * while the program waits for a child or computes, and keeps it alive meanwhile. Returns the function that removes the folder.
 * CUDNN_RNN_TEST_RUN names the folder, for work that is done once per run. NODE_COMPILE_CACHE lets processes take the compiled
 * code of programs that another one has loaded, from Node.js 22 on: tests start some hundred, mostly the same. vitest calls this
 * function as its global setup. One folder serves all calls of a process: checks import one another, and in a folder of a
 * folder the paths of Chromium's sockets are too long.
 */
export default function ownTemporaryFolder() {
  remove ??= makeFolder()
  return remove
}

let remove

function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-test-'))
  // Tests of permissions start programs of another user.
  chmodSync(folder, 0o755)
  // Before it inherits the folder, and in another group, which an interrupt from the terminal does not reach.
  const watcher = spawn(process.execPath, [fileURLToPath(new URL('end_with_program.mjs', import.meta.url)), folder], {
    ...{ stdio: ['pipe', 'ignore', 'inherit'], detached: true, env: { ...process.env, NODE_OPTIONS: '' } },
  })
  watcher.unref()
  watcher.stdin.unref()
  for (const name of ['TMPDIR', 'TMP', 'TEMP', 'CUDNN_RNN_TEST_RUN']) process.env[name] = folder
  process.env.NODE_COMPILE_CACHE = join(folder, 'compile-cache')
  const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  // The watcher removes it later, too late for a check of left files right after the program.
  process.on('exit', removeFolder)
  return removeFolder
}
