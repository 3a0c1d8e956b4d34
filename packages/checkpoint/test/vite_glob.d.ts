/** Vite's import of every matching file, in the form of its query. */
interface ImportMeta {
  glob<Value>(
    pattern: string,
    options: { readonly query: string; readonly import: 'default'; readonly eager: true },
  ): Record<string, Value>
}
