// Spins while the shared flag is 1 and sleeps while it is 0.
import { workerData } from 'node:worker_threads'

const burning = workerData as Int32Array
for (;;) {
  Atomics.wait(burning, 0, 0)
  while (Atomics.load(burning, 0) === 1);
}
