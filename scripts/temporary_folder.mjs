import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Gives a test run its own temporary folder, which its processes inherit. Returns the function that removes it, with the
 * files of killed child processes and of processes that vitest ended. CUDNN_RNN_TEST_RUN names the folder, for work that is done
 * once per run. NODE_COMPILE_CACHE lets processes take the compiled code of programs that another one has loaded, from Node.js
 * 22 on: tests start some hundred, mostly the same. vitest calls this function as its global setup.
 */
export default function ownTemporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-test-'))
  // Tests of permissions start programs of another user.
  chmodSync(folder, 0o755)
  for (const name of ['TMPDIR', 'TMP', 'TEMP', 'CUDNN_RNN_TEST_RUN']) process.env[name] = folder
  process.env.NODE_COMPILE_CACHE = join(folder, 'compile-cache')
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
