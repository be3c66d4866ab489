// Light or dark: as the system has it until the person says otherwise.

const THEMES = ['light', 'dark'];
const REMEMBERED = 'onplan-theme';

export function restoreTheme() {
  applyTheme(rememberedTheme());
}

export function flipTheme() {
  const systems = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const now = document.documentElement.dataset.theme ?? systems;
  applyTheme(now === 'dark' ? 'light' : 'dark');
}

function applyTheme(theme) {
  if (!THEMES.includes(theme)) return;
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(REMEMBERED, theme);
  } catch {
    // A page from a disk may not be allowed to remember: the theme then lasts as long as the page.
  }
}

function rememberedTheme() {
  try {
    return localStorage.getItem(REMEMBERED) ?? '';
  } catch {
    return '';
  }
}
