/**
 * Places for labels that are at least `distance` apart, as near to the wanted `places` as that allows: labels that touch
 * form a block around their mean (the pool-adjacent-violators algorithm).
 */
export function spread(places: readonly number[], distance: number): number[] {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b])
  const blocks: { readonly members: number[]; start: number }[] = []
  const startOf = (members: readonly number[]) =>
    members.reduce((sum, index, k) => sum + places[index] - k * distance, 0) / members.length
  for (const index of order) {
    blocks.push({ members: [index], start: places[index] })
    for (;;) {
      const [before, last] = blocks.slice(-2)
      if (before === undefined || last === undefined) break
      if (before.start + before.members.length * distance <= last.start) break
      before.members.push(...last.members)
      before.start = startOf(before.members)
      blocks.pop()
    }
  }
  const result = new Array<number>(places.length)
  for (const { members, start } of blocks)
    for (const [k, index] of members.entries()) result[index] = start + k * distance
  return result
}
