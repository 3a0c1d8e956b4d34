/** The backend, whose call number `call` throws. Calls of its operations are counted too; `count` is called at each. */
export function failingAt(backend, call, count = () => undefined) {
  let calls = 0
  const counted = (target) =>
    new Proxy(target, {
      get(_, name) {
        const value = Reflect.get(target, name, target)
        if (name === 'ops') return ops
        if (typeof value !== 'function') return value
        return (...given) => {
          count()
          if (calls++ === call) throw new Error('out of memory')
          return value.apply(target, given)
        }
      },
    })
  const ops = counted(backend.ops)
  return counted(backend)
}

/** How many calls `run` makes. */
export function callsOf(backend, run) {
  let calls = 0
  run(failingAt(backend, -1, () => void calls++))
  return calls
}
