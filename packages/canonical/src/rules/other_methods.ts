import { codedTypeError } from './coded_error.js'

/**
 * Adds methods by their names in other libraries: each refuses the call, and its message has the call to write here. The
 * declarations lack them, so the compiler refuses the same names. Constructors call it, as a module that did so when it loads
 * would stay in every bundle.
 *
 * @param owner the class, for the message ("a tape")
 * @param names other names, separated by spaces, by the call to write here; NAME in it is the other name
 */
export function refuseOtherMethods(prototype: object, owner: string, names: Readonly<Record<string, string>>): void {
  for (const [advice, others] of Object.entries(names)) {
    for (const name of others.split(' ')) {
      if (name in prototype) continue
      Object.defineProperty(prototype, name, {
        configurable: true,
        value: () => {
          throw otherMethod(name, owner, advice.replaceAll('NAME', name))
        },
      })
    }
  }
}

/** The error of a call by another library's name, or in its way. */
export function otherMethod(name: string, owner: string, advice: string): Error {
  const message = `Cannot call ${name}() as ${owner} has no such method: write ${advice}`
  return codedTypeError('ERR_UNKNOWN_METHOD', message, { method: name })
}
