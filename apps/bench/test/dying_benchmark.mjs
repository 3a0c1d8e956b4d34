// A benchmark for tests: starts the watcher given as argument, for the folder given as another, and a child that never reads its
// stdin, prints the child's pid, waits.
import { spawn } from 'node:child_process'

const [watcherScript, folder] = process.argv.slice(2)
const watcher = spawn(process.execPath, [watcherScript, folder], { stdio: ['pipe', 'ignore', 'inherit'] })
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['pipe', 'ignore', 'ignore'] })
watcher.stdin.write(`+${child.pid}\n`, () => console.log(child.pid))
setInterval(() => {}, 1000)
