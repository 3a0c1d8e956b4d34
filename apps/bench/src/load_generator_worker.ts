// Spins while the shared flag is 1 and sleeps while it is 0.
import { workerData } from 'node:worker_threads'

const running = workerData as Int32Array
for (;;) {
  Atomics.wait(running, 0, 0)
  while (Atomics.load(running, 0) === 1);
}
