import { Converter, ReflectionKind } from 'typedoc'

/** Names modules as they are imported: `packages/train/src/index.ts` is `@cudnn-rnn/train`. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    for (const module of context.project.getReflectionsByKind(ReflectionKind.Module)) {
      module.name = `@cudnn-rnn/${module.name.replace(/\/src.*$/, '').replace(/^packages\//, '')}`
    }
  })
}
