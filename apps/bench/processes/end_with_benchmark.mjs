// Ends the processes of a benchmark and removes the folder of its temporary files, the argument, when the benchmark has ended,
// however it did. It reads "+<pid>" for a process that was started and "-<pid>" for one that has ended, a line each; the system
// closes its stdin when the benchmark's process ends. The processes themselves would notice late: one that imports TensorFlow or
// computes for minutes does not read its stdin.
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [folder] = process.argv.slice(2)

const running = new Set()

// An interrupt from the terminal reaches this process too; it still has to end the others.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const pid = Number(line.slice(1))
    if (line.startsWith('+')) running.add(pid)
    else running.delete(pid)
  })
  .on('close', () => {
    for (const pid of running) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended meanwhile.
      }
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
