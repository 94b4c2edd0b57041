// Draft frames may carry only the new part of the text; this restores the full text. One per connection.

/** @returns {(frame: any) => any} */
export const wholeDrafts = () => {
  /** @type {Map<string, string>} */
  const texts = new Map()
  return frame => {
    if (frame.type === 'final') texts.delete(frame.id)
    if (frame.type !== 'draft') return frame
    const { id, from = 0 } = frame
    const text = (texts.get(id) ?? '').slice(0, from) + frame.text
    texts.set(id, text)
    return { type: 'draft', id, text }
  }
}
