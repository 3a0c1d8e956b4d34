/** What Vite gives tests: every file that matches, as its query says. */
interface ImportMeta {
  glob<Value>(
    pattern: string,
    options: { readonly query: string; readonly import: 'default'; readonly eager: true },
  ): Record<string, Value>
}
