import { Converter, ReflectionKind } from 'typedoc'

/**
 * Names modules as they are imported: `packages/train/src/index.ts` is `@cudnn-rnn/train`, `packages/cudnn/src/validation.ts`
 * is `@cudnn-rnn/cudnn/validation`.
 */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    for (const module of context.project.getReflectionsByKind(ReflectionKind.Module)) {
      module.name = `@cudnn-rnn/${module.name.replace(/\/src(?=\/|$)|\/index$/g, '').replace(/^packages\//, '')}`
    }
    // How Node.js prints an object is not called by a program.
    for (const method of context.project.getReflectionsByKind(ReflectionKind.Method)) {
      if (method.name === '[INSPECT]') context.project.removeReflection(method)
    }
  })
}
