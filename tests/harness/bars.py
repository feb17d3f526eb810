"""What a long run has to show: a line for each figure with its bar and the verdict."""


class Bars:
    def __init__(self):
        self.missed = []

    def check(self, what, figure, bar, good):
        """Prints the line; the verdict."""
        print(f"{'good  ' if good else 'MISSED'}  {what}: {figure} (bar: {bar})", flush=True)
        if not good:
            self.missed.append(what)
        return good

    def check_none(self, what, problems):
        """Nothing is wrong; the first of what is, otherwise."""
        self.check(what, len(problems), "0", not problems)
        for problem in problems[:20]:
            print(f"        {problem}", flush=True)

    def status(self):
        """Of the program: 0 if no bar was missed; the last line says which."""
        print(f"verdict: {'MISSED: ' + ', '.join(self.missed) if self.missed else 'good'}", flush=True)
        return 1 if self.missed else 0
