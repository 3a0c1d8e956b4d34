/** Milliseconds of CLOCK_MONOTONIC, which all processes of a host share. */
const now = () => Number(process.hrtime.bigint()) / 1e6

/** The calls of `world`, and in `calls` the begin and the end of those that a training step makes, in their order. */
export function tracedCommunicator(world) {
  const calls = []
  const timed =
    (name, run) =>
    async (...given) => {
      const begin = now()
      const result = await run(...given)
      calls.push({ name, begin, end: now() })
      return result
    }
  const { engine, reason, rank, size, localRank, localSize } = world
  const communicator = {
    ...{ engine, reason, rank, size, localRank, localSize },
    allReduce: timed('allReduce', (...given) => world.allReduce(...given)),
    tensorSum(backend) {
      const sum = world.tensorSum?.(backend)
      return sum && timed('tensorSum', sum)
    },
    allGather: timed('allGather', (...given) => world.allGather(...given)),
    broadcast: (...given) => world.broadcast(...given),
    barrier: () => world.barrier(),
    abort: (...given) => world.abort(...given),
    dispose: () => world.dispose(),
  }
  return { communicator, calls }
}

/** The calls of the last `steps` training steps: an exchange of weights before each sum of the gradients. */
export function callsOfSteps(calls, steps) {
  const sums = [...calls.keys()].filter((index) => calls[index].name === 'tensorSum').slice(-steps)
  return sums.flatMap((index) => [calls[index - 1], calls[index]])
}
