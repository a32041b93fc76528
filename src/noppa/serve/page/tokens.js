// Tokens for display: pieces marked as parts of their word, scripts in their own direction.

const PIECE = "##", MARK = "‧", MOST = 16;
const RIGHT_TO_LEFT = /^[^\p{L}]*[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

export const rightToLeft = (tokens) => RIGHT_TO_LEFT.test(tokens.join(" "));

// Unicode isolates give a text its own direction where `dir` is not available.
export const isolated = (text) => `\u2068${text}\u2069`;

// The words of a text: `text`, and its tokens from `start` to before `end`; several for a word built from pieces.
export function words({ tokens, sources }) {
  const found = [];
  tokens.forEach((token, at) => {
    if (at && sources[at] === sources[at - 1]) {
      found.at(-1).text += bare(token);
      found.at(-1).end += 1;
    } else found.push({ text: token, start: at, end: at + 1 });
  });
  return found;
}

const bare = (token) => (token.startsWith(PIECE) ? token.slice(PIECE.length) : token);

// The label of each token; a piece has a mark where the word continues.
export function labels(side) {
  const shown = [...side.tokens];
  for (const { start, end } of words(side)) {
    for (let at = start; at < end; at++) shown[at] = (at > start ? MARK : "") + bare(shown[at]) + (at + 1 < end ? MARK : "");
  }
  return shown;
}

export function shortened(label) {
  const letters = [...label];
  return letters.length > MOST ? `${letters.slice(0, MOST - 1).join("")}…` : label;
}
